"""Names public functions and classes of the package that have no docstring; exit code 1 when there are any."""

import ast
import sys
from pathlib import Path

missing = [
    f"{path}:{node.lineno}: {node.name} has no docstring"
    for path in sorted(Path("bookshop").glob("*.py"))
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    if isinstance(node, (ast.FunctionDef, ast.ClassDef))
    and not node.name.startswith("_")
    and not ast.get_docstring(node)
]
print("\n".join(missing) or "every public name has a docstring")
sys.exit(1 if missing else 0)
