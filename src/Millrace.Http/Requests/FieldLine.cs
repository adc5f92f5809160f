namespace Millrace.Http;

/// <summary>One field line of a request: its name as an integer and as text, and its value without surrounding whitespace.</summary>
internal struct FieldLine
{
    public TextRange NameText { get; init; }

    public TextRange Value { get; init; }

    public FieldName Name { get; init; }

    /// <summary>The index of the next line with the same known name; 0 for none, since a next line is never the first.</summary>
    internal short Next { get; set; }
}
