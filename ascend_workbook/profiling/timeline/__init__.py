"""What a timeline shows: lanes, one step in detail, an overview of the rest. ascend_workbook/show/timeline draws it."""
