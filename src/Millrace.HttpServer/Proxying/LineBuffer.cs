namespace Millrace.HttpServer.Proxying;

/// <summary>Lines of a message, written one after the other. It grows as needed and keeps its memory. Reactor thread only.</summary>
internal sealed class LineBuffer
{
    private byte[] _bytes = new byte[1024];

    public int Written { get; private set; }

    public ReadOnlySpan<byte> Bytes => _bytes.AsSpan(0, Written);

    public void Clear() => Written = 0;

    public void Write(ReadOnlySpan<byte> bytes)
    {
        bytes.CopyTo(Room(bytes.Length));
        Written += bytes.Length;
    }

    public void Field(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value)
    {
        Span<byte> room = Room(name.Length + value.Length + 4);
        name.CopyTo(room);
        ": "u8.CopyTo(room[name.Length..]);
        room = room[(name.Length + 2)..];
        value.CopyTo(room);
        "\r\n"u8.CopyTo(room[value.Length..]);
        Written += name.Length + value.Length + 4;
    }

    /// <summary>Space after what is written, for <see cref="Advance"/>.</summary>
    public Span<byte> Room(int bytes)
    {
        if (_bytes.Length - Written < bytes)
        {
            Array.Resize(ref _bytes, Math.Max(2 * _bytes.Length, Written + bytes));
        }

        return _bytes.AsSpan(Written);
    }

    public void Advance(int count) => Written += count;
}
