using System.Text;
using Millrace.Http;

namespace Millrace.Models;

/// <summary>Makes request heads: valid ones, valid ones with something broken, and noise made of what heads are made of.</summary>
internal static class HeadGenerator
{
    private static readonly string[] Methods =
    [
        "GET", "HEAD", "OPTIONS", "POST", "PUT", "DELETE", "TRACE", "PATCH", "PURGE", "get", "M-SEARCH", "GETS",
    ];

    private static readonly string[] Targets =
    [
        "/", "/index.html", "/a/b/c.css?v=1", "/?", "/a?b?c", "//x", "/%41%zz", "/a|b\"c", "http://example.org/x?y", "https://h:8443",
        "HTTP://[::1]:80/", "http://a?q", "/0123456789012345678901234567890123456789?0123456789012345678901234567890",
    ];

    private static readonly string[] Names =
    [
        "Accept", "Accept-Encoding", "Accept-Language", "Access-Control-Request-Headers", "Access-Control-Request-Method", "Authorization",
        "Cookie", "Forwarded", "If-Match", "If-Modified-Since", "If-None-Match", "If-Range", "If-Unmodified-Since", "Keep-Alive", "Origin",
        "Priority", "Range", "Referer", "TE", "Upgrade", "User-Agent", "X-Forwarded-For", "X-Forwarded-Proto", "X", "X-Y", "Hos", "Hosts",
        "If_Match", "Sec-Fetch-Dest", "A-Name-That-Is-Longer-Than-Any-Vector-Of-Bytes", "Connectiom", "Content-Type",
    ];

    private static readonly string[] FramingLines =
    [
        "Connection: close", "Connection: keep-alive", "connection: Keep-Alive, TE", "CONNECTION: , close ,", "Connection: closed",
        "Content-Length: 0", "Content-Length: 12", "content-length:9223372036854775807", "Content-Length: 9223372036854775808",
        "Content-Length: 1,1", "Content-Length: +1", "Content-Length:", "Transfer-Encoding: chunked", "transfer-encoding: CHUNKED ",
        "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: chunked, gzip", "Transfer-Encoding: chunked;a=b",
        "Transfer-Encoding: gzip;q=1",
        "Transfer-Encoding: chunked,", "Transfer-Encoding: foo", "Expect: 100-continue", "expect: 100-Continue, x", "Expect: 200-ok",
        "Host: again", "Host: b a d",
    ];

    private static readonly string[] Hosts =
    [
        "localhost", "localhost:8080", "", "[::1]", "[::1]:80", "a%41", "[v1.a:b]", "[::1", "a:b", "x@y", "a%4", "[1.2.3.4]", "a/b", ":80",
        "[v1.:]", "a:99999", "a:65535", "a:65536", "a:0000080", "..a", "a..b", ".", "a.", "a..", "[::1]:70000",
    ];

    private static readonly string[] Pieces =
    [
        "GET ", "/ ", "HTTP/1.1", "HTTP/1.0", "\r\n", "\r\n\r\n", "\r", "\n", " ", "\t", ":", "Host", ": a", "\0", "\x7F", "\x80", "x",
        "Content-Length: 1",
    ];

    public static byte[] Valid(Random random)
    {
        var head = new StringBuilder();
        for (int emptyLines = random.Next(20) == 0 ? random.Next(6) : 0; emptyLines > 0; emptyLines--)
        {
            head.Append("\r\n");
        }

        string method = random.Pick(Methods);
        string target = random.Pick(Targets);
        (method, target) = random.Next(20) switch
        {
            0 => ("OPTIONS", "*"),
            2 => (new string('M', 60 + random.Next(100)), target),
            1 => ("CONNECT", random.Pick("a:1", "[::1]:443", "a", "a:", "/")),
            _ => (method, target),
        };
        head.Append($"{method} {target} HTTP/{random.Pick("1.1", "1.1", "1.1", "1.0", "1.2", "2.0")}\r\n");

        var fields = new List<string>();
        if (random.Next(12) != 0)
        {
            fields.Add($"{RandomCase(random, "Host")}:{Space(random)}{(random.Next(4) == 0 ? random.Pick(Hosts) : "example.org")}");
        }

        for (int count = random.Next(8); count > 0; count--)
        {
            fields.Add($"{RandomCase(random, random.Pick(Names))}:{Space(random)}{Value(random)}{Space(random)}");
        }

        for (int count = random.Next(4) == 0 ? random.Next(3) : 0; count > 0; count--)
        {
            fields.Add(random.Pick(FramingLines));
        }

        string[] shuffled = [.. fields];
        random.Shuffle(shuffled);
        foreach (string line in shuffled)
        {
            head.Append(line).Append("\r\n");
        }

        head.Append("\r\n");
        head.Append(random.Pick("", "", "G", "GET / HTTP/1.1\r\n\r\n", "body"));
        return Latin1.Bytes(head.ToString());
    }

    public static byte[] Mutated(Random random)
    {
        var bytes = new List<byte>(Valid(random));
        for (int count = random.Next(1, 4); count > 0 && bytes.Count > 1; count--)
        {
            int at = random.Next(bytes.Count);
            switch (random.Next(5))
            {
                case 0:
                    bytes[at] = (byte)random.Next(256);
                    break;
                case 1:
                    bytes.Insert(at, (byte)random.Pick("\r\n \t:;,\0#?%/\x7F\x80\xFF".AsSpan()));
                    break;
                case 2:
                    bytes.RemoveAt(at);
                    break;
                case 3:
                    bytes.InsertRange(at, bytes.GetRange(at, Math.Min(random.Next(40), bytes.Count - at)));
                    break;
                default:
                    bytes[at] ^= (byte)(1 << random.Next(8));
                    break;
            }
        }

        return [.. bytes];
    }

    public static byte[] Noise(Random random)
    {
        var text = new StringBuilder(random.Pick("", "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: a\r\n"));
        for (int count = random.Next(20); count > 0; count--)
        {
            text.Append(random.Next(3) == 0 ? ((char)random.Next(256)).ToString() : random.Pick(Pieces));
        }

        return Latin1.Bytes(text.ToString());
    }

    public static byte[] Any(Random random) => random.Next(3) switch
    {
        0 => Valid(random),
        1 => Mutated(random),
        _ => Noise(random),
    };

    public static HeadLimits Limits(Random random) => random.Next(3) switch
    {
        0 => new HeadLimits(64, 64 + random.Next(200), random.Next(1, 6)),
        1 => new HeadLimits(64 + random.Next(64), 400, 100),
        _ => HeadLimits.Default,
    };

    private static string RandomCase(Random random, string name) => random.Next(3) switch
    {
        0 => name,
        1 => name.ToLowerInvariant(),
        _ => string.Concat(name.Select(c => random.Next(2) == 0 ? char.ToUpperInvariant(c) : c)),
    };

    private static string Space(Random random) => random.Pick(" ", " ", " ", "", "\t", "  \t ");

    private static string Value(Random random)
    {
        var value = new StringBuilder();
        for (int count = random.Next(random.Pick(4, 40, 90)); count > 0; count--)
        {
            char c = (char)random.Next(0x20, random.Next(10) == 0 ? 0x100 : 0x7F);
            value.Append(c == '\x7F' ? '\t' : c);
        }

        return value.ToString();
    }
}
