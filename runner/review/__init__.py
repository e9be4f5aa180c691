"""The review page: doubtful steps side by side, ruled on by people. It reads the record and adds rulings and stops."""
