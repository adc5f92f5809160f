namespace Millrace.Http;

/// <summary>Where a piece of text lies in the bytes of its message. It borrows nothing, so it outlives a move of the buffer.</summary>
internal readonly record struct TextRange(int Start, int Length)
{
    public int End => Start + Length;

    public bool IsEmpty => Length == 0;

    public static TextRange Between(int start, int end) => new(start, end - start);

    public ReadOnlySpan<byte> In(ReadOnlySpan<byte> bytes) => bytes.Slice(Start, Length);
}
