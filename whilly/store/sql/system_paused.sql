-- Why nothing is handed out; null when tasks are.
select paused_reason from control
