"""The scikit-learn contract: what all estimators and each kind of them share."""
