"""What the lessons' cells use: quizzes, predictions, the glossary, cases and suppositions."""
