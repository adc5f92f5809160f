using System.Text;

namespace Millrace.Models;

/// <summary>Makes response heads: valid ones, valid ones with something broken, and noise made of what heads are made of.</summary>
internal static class ResponseGenerator
{
    private static readonly string[] Lines =
    [
        "Date: Thu, 01 Jan 1970 00:00:00 GMT", "Content-Type: text/html; charset=utf-8", "Server: a/1.0 (b)", "ETag: \"a\"",
        "Set-Cookie: a=b; Path=/", "Set-Cookie: c=d", "Vary: Accept-Encoding", "X:",
        "A-Name-That-Is-Longer-Than-Any-Vector-Of-Bytes:\tvalue \t", "Trailer: X", "Link: </a>",
    ];

    private static readonly string[] FramingLines =
    [
        "Content-Length: 5", "Content-Length: 0", "content-length:007", "Content-Length: 5, 5", "Content-Length: +5", "Content-Length:",
        "Content-Length: 9223372036854775807", "Content-Length: 9223372036854775808", "Transfer-Encoding: chunked",
        "transfer-encoding: CHUNKED ", "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: chunked, gzip", "Transfer-Encoding: gzip",
        "Transfer-Encoding: chunked;a=b", "Transfer-Encoding: chunked, chunked", "Transfer-Encoding:", "Connection: close",
        "connection: Keep-Alive", "Connection: upgrade, CLOSE", "Upgrade: websocket",
    ];

    private static readonly string[] Statuses =
    [
        "200", "200", "200", "204", "304", "301", "404", "500", "100", "101", "103", "199", "205", "600", "999", "099", "20", "2000", "OK",
    ];

    private static readonly string[] Pieces =
    [
        "HTTP/1.1", "HTTP/1.0", " 200", " OK", "\r\n", "\r\n\r\n", "\r", "\n", " ", "\t", ":", ": a", "\0", "\x7F", "\x80", "x",
        "Content-Length: 1\r\n", "\r\n b",
    ];

    public static byte[] Any(Random random) => random.Next(3) switch
    {
        0 => Valid(random),
        1 => Mutated(random),
        _ => Noise(random),
    };

    public static byte[] Valid(Random random)
    {
        var head = new StringBuilder();
        head.Append($"HTTP/{random.Pick("1.1", "1.1", "1.1", "1.0", "1.9", "2.0")} {random.Pick(Statuses)}");
        head.Append(random.Pick(" OK", " OK", "", " ", " Not\tFound \xE4", " " + new string('r', random.Next(100))));
        head.Append("\r\n");
        for (int count = random.Next(8); count > 0; count--)
        {
            head.Append(random.Next(3) == 0 ? random.Pick(FramingLines) : random.Pick(Lines)).Append("\r\n");
        }

        return Latin1.Bytes(head.Append("\r\n").Append(random.Pick("", "", "5", "HTTP/1.1 200 OK\r\n\r\n", "hello")).ToString());
    }

    private static byte[] Mutated(Random random)
    {
        var bytes = new List<byte>(Valid(random));
        for (int count = random.Next(1, 4); count > 0 && bytes.Count > 1; count--)
        {
            int at = random.Next(bytes.Count);
            switch (random.Next(4))
            {
                case 0:
                    bytes[at] = (byte)random.Next(256);
                    break;
                case 1:
                    bytes.Insert(at, (byte)random.Pick("\r\n \t:;,\0\x7F\x80\xFF1".AsSpan()));
                    break;
                case 2:
                    bytes.RemoveAt(at);
                    break;
                default:
                    bytes.InsertRange(at, bytes.GetRange(at, Math.Min(random.Next(40), bytes.Count - at)));
                    break;
            }
        }

        return [.. bytes];
    }

    private static byte[] Noise(Random random)
    {
        var text = new StringBuilder(random.Pick("", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 204 \r\nA: b\r\n"));
        for (int count = random.Next(20); count > 0; count--)
        {
            text.Append(random.Next(3) == 0 ? ((char)random.Next(256)).ToString() : random.Pick(Pieces));
        }

        return Latin1.Bytes(text.ToString());
    }
}
