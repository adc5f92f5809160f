namespace Millrace.StaticFiles.Rules;

/// <summary>A step of a <see cref="PathPattern"/> between two '*': literal bytes, '?', or a placeholder.</summary>
internal readonly struct PatternToken
{
    private PatternToken(PatternTokenKind kind)
    {
        Kind = kind;
    }

    public static PatternToken AnyByte { get; } = new(PatternTokenKind.AnyByte);

    public PatternTokenKind Kind { get; }

    /// <summary>The bytes of a literal.</summary>
    public byte[] Bytes { get; private init; } = [];

    /// <summary>For a placeholder: how many bytes of its segment the following tokens need.</summary>
    public int SuffixBytes { get; private init; }

    /// <summary>For a placeholder: the index of its capture.</summary>
    public int Capture { get; private init; }

    public int BytesMin => Kind == PatternTokenKind.Literal ? Bytes.Length : 1;

    public static PatternToken Literal(byte[] bytes) => new(PatternTokenKind.Literal) { Bytes = bytes };

    public static PatternToken Placeholder(int capture, int suffixBytes) =>
        new(PatternTokenKind.Placeholder) { Capture = capture, SuffixBytes = suffixBytes };
}

internal enum PatternTokenKind : byte
{
    Literal,

    /// <summary>One byte except '/'.</summary>
    AnyByte,

    /// <summary>One byte or more up to the end of the segment, less what follows there.</summary>
    Placeholder,
}
