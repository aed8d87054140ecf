"""The child's side of a launch: everything here runs inside the user's training process.

It is started by file path and lives in that process under the name `_workbook_child`, so that it neither
shadows nor is shadowed by anything the user's script imports. It uses the standard library and torch only.
"""
