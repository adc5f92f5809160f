using System.Text;

namespace Millrace.Tls.Handshakes;

/// <summary>An ALPN protocol name, as text and as bytes.</summary>
internal sealed class ApplicationProtocol
{
    private const int BytesMax = 255;

    private readonly byte[] _bytes;

    /// <exception cref="TlsException">It is empty or too long for the protocol.</exception>
    public ApplicationProtocol(string name)
    {
        Name = name;
        _bytes = Encoding.Latin1.GetBytes(name);
        if (_bytes.Length is 0 or > BytesMax)
        {
            throw new TlsException($"'{name}' is not a valid ALPN protocol: it must have 1 to {BytesMax} bytes, such as 'http/1.1'.");
        }
    }

    public string Name { get; }

    public ReadOnlySpan<byte> Bytes => _bytes;

    /// <summary>The index of the name's first byte in a list of length-prefixed names; -1 if it is not in the list.</summary>
    public int FindIn(ReadOnlySpan<byte> list)
    {
        for (int at = 0; at < list.Length; at += list[at] + 1)
        {
            int end = at + 1 + list[at];
            if (end <= list.Length && list[(at + 1)..end].SequenceEqual(_bytes))
            {
                return at + 1;
            }
        }

        return -1;
    }
}
