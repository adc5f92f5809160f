namespace Millrace.Http;

/// <summary>
/// The values of all lines of one known field, in the order they came (RFC 9110 section 5.3: together they are one list).
/// </summary>
internal ref struct FieldValues(ReadOnlySpan<FieldLine> lines, int first)
{
    private readonly ReadOnlySpan<FieldLine> _lines = lines;
    private int _next = first;

    public TextRange Current { get; private set; }

    public readonly FieldValues GetEnumerator() => this;

    public bool MoveNext()
    {
        if (_next < 0)
        {
            return false;
        }

        ref readonly FieldLine line = ref _lines[_next];
        Current = line.Value;
        _next = line.Next == 0 ? -1 : line.Next;
        return true;
    }
}
