using System.Globalization;
using System.Text;
using Millrace.Http;

namespace Millrace.HttpServer.Heads;

/// <summary>
/// The Alt-Svc field (RFC 7838, section 3) that the responses of an address carry, in the form of each protocol: where the same resources
/// are served over HTTP/3. Immutable; any thread.
/// </summary>
internal sealed class AlternativeService
{
    /// <summary>What it adds to a head at most.</summary>
    public const int BytesMax = 64;

    /// <summary>
    /// A day: long enough for visitors who return, and short enough for an operator who switches HTTP/3 off. A client that cannot connect
    /// over UDP falls back at once, and asks again later.
    /// </summary>
    private const int FreshSeconds = 86_400;

    private readonly byte[] _line;
    private readonly byte[] _keepAliveLines;
    private readonly byte[] _closeLines;
    private readonly byte[] _block;

    private AlternativeService(string value)
    {
        Value = value;
        string line = $"Alt-Svc: {value}\r\n";
        _line = Encoding.ASCII.GetBytes(line);
        _keepAliveLines = Encoding.ASCII.GetBytes($"Connection: keep-alive\r\n{line}");
        _closeLines = Encoding.ASCII.GetBytes($"Connection: close\r\n{line}");
        byte[] block = new byte[2 * BytesMax];
        var writer = new FieldBlockWriter(block);
        writer.Field("Alt-Svc"u8, Encoding.ASCII.GetBytes(value));
        _block = block[..writer.Finish()];
    }

    /// <summary>Clients forget what an earlier response has said.</summary>
    public static AlternativeService Cleared { get; } = new("clear");

    public string Value { get; }

    /// <summary>The field in a field block of HTTP/2.</summary>
    public ReadOnlySpan<byte> Block => _block;

    /// <summary>HTTP/3 at this UDP port of the same host.</summary>
    public static AlternativeService Http3At(int port) =>
        new(string.Create(CultureInfo.InvariantCulture, $"h3=\":{port}\"; ma={FreshSeconds}"));

    /// <summary>The lines about the connection of an HTTP/1.1 response, and this field's.</summary>
    public ReadOnlySpan<byte> ConnectionLines(HttpVersion version, bool keepAlive) => (keepAlive, version) switch
    {
        (true, HttpVersion.Http11) => _line,
        (true, _) => _keepAliveLines,
        _ => _closeLines,
    };
}
