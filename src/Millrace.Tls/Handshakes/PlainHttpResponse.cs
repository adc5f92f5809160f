using System.Text;

namespace Millrace.Tls.Handshakes;

/// <summary>The response to a client that sends HTTP to a TLS port: it could not read an alert.</summary>
internal static class PlainHttpResponse
{
    private const string Text = "This port speaks HTTPS: write https:// in front of the address.\n";

    private static readonly byte[] All = Encoding.ASCII.GetBytes(
        "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n"
        + $"Content-Length: {Text.Length}\r\nConnection: close\r\n\r\n{Text}");

    public static ReadOnlySpan<byte> Bytes => All;
}
