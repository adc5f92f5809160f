using System.Text;

namespace Millrace.Tls.Handshakes;

/// <summary>A name of ALPN, as text and on the wire.</summary>
internal sealed class ApplicationProtocol
{
    private const int BytesMax = 255;

    private readonly byte[] _bytes;

    /// <exception cref="TlsException">It is empty or too long for the wire.</exception>
    public ApplicationProtocol(string name)
    {
        Name = name;
        _bytes = Encoding.Latin1.GetBytes(name);
        if (_bytes.Length is 0 or > BytesMax)
        {
            throw new TlsException($"'{name}' is no application protocol: it has 1 to {BytesMax} bytes, as 'http/1.1'.");
        }
    }

    public string Name { get; }

    public ReadOnlySpan<byte> Bytes => _bytes;

    /// <summary>Where the name's first byte stands in a list of names, each behind its length; -1 where it is not.</summary>
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
