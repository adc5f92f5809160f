namespace Millrace.Models;

/// <summary>
/// Makes the fields of HTTP/2 requests: many of them well-formed, others with something missing, doubled, misplaced or broken.
/// </summary>
internal static class FieldsGenerator
{
    public static List<(string Name, string Value)> Any(Random random)
    {
        string authority = Authority(random);
        var fields = new List<(string, string)>
        {
            (":method", random.Pick("GET", "GET", "GET", "GET", "HEAD", "OPTIONS", "POST", "CONNECT", "BREW", "get", "G T", Long(random))),
            (":scheme", IsOdd(random) ? random.Pick("ftp", "1", "") : random.Pick("https", "https", "http", "HTTPS")),
            (":path", Path(random)),
        };
        if (fields[0].Item2 == "CONNECT" && random.Next(4) > 0)
        {
            fields.RemoveRange(1, 2);
        }

        if (random.Next(8) > 0)
        {
            fields.Insert(random.Next(fields.Count + 1), (":authority", authority));
        }

        for (int count = random.Next(6); count > 0; count--)
        {
            fields.Add(Field(random, authority));
        }

        if (random.Next(3) == 0)
        {
            Mutate(fields, random);
        }

        return fields;
    }

    private static bool IsOdd(Random random) => random.Next(10) == 0;

    private static string Long(Random random) => new string('M', 63 + random.Next(120)) + random.Pick("", "", "(");

    private static string Authority(Random random) => IsOdd(random)
        ? random.Pick("a:", "a@b", "", "a/b", "a b", "a:x", "..a", "a:99999", ":80")
        : random.Pick("example.org", "Example.org:8080", "example.org:443", "example.org:80", "[::1]:1");

    private static string Path(Random random) => IsOdd(random)
        ? random.Pick("*", "", "a", "http://a/", "/a#b", "/a b", "/\u00E4", "*a", new string('/', 70))
        : random.Pick("/", "/index.html", "/a%20b?c=d?e", "/a/../b", "/?", "//");

    private static (string Name, string Value) Field(Random random, string authority) => random.Next(IsOdd(random) ? 1 : 11) switch
    {
        0 => OddField(random),
        1 => ("cookie", random.Pick("a=b", "c=d; e=f", "", new string('c', 50))),
        2 => ("cookie", random.Pick("g=h", "")),
        3 => ("host", authority),
        4 => ("content-length", random.Pick("0", "12", "9223372036854775807", "007")),
        5 => ("te", random.Pick("trailers", "Trailers")),
        6 => ("expect", "100-continue"),
        7 => ("if-none-match", random.Pick("\"a\"", "W/\"b\", \"c\"")),
        8 => ("accept", random.Pick("text/html", "*/*")),
        9 => ("accept-encoding", random.Pick("gzip, deflate", "br")),
        _ => (random.Pick("range", "priority", "user-agent", "x-unknown"), "bytes=0-1"),
    };

    private static (string Name, string Value) OddField(Random random) => random.Next(6) switch
    {
        0 => ("host", random.Pick("example.org", "EXAMPLE.org", "", "a b")),
        1 => ("content-length", random.Pick("9223372036854775808", "+1", "", "1, 1")),
        2 => ("te", random.Pick("gzip", "trailers, gzip", "")),
        3 => (random.Pick("connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade"), "close"),
        4 => (random.Pick("Accept", "a b", "", "x\u00E4", "a:b", "(", "x\0"), "a"),
        _ => ("x", random.Pick("", "a\tb", " a", "a ", "\ta", "a\0b", "a\rb", "a\nb", "\u007F", "\u00E4")),
    };

    private static void Mutate(List<(string Name, string Value)> fields, Random random)
    {
        int at = random.Next(fields.Count);
        switch (random.Next(5))
        {
            case 0:
                fields.RemoveAt(at);
                break;
            case 1:
                fields.Insert(random.Next(fields.Count + 1), fields[at]);
                break;
            case 2:
                (fields[at], fields[0]) = (fields[0], fields[at]);
                break;
            case 3:
                fields.Insert(at, (random.Pick(":status", ":protocol", ":", ":Path"), "a"));
                break;
            default:
                fields[at] = (fields[at].Name, fields[at].Value + random.Pick(" ", "\0", "#", "@", ":", "\u00E4"));
                break;
        }
    }
}
