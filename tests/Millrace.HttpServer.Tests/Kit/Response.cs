using System.Security.Cryptography;
using System.Text;

namespace Millrace.HttpServer.Tests.Kit;

/// <summary>A response as it came over the wire.</summary>
internal sealed record Response(int Status, string StatusLine, IReadOnlyList<(string Name, string Value)> Fields, byte[] Body)
{
    public string Text => Encoding.Latin1.GetString(Body);

    /// <summary>The value of a field that stands once, or null.</summary>
    public string? Field(string name) =>
        Fields.Where(field => string.Equals(field.Name, name, StringComparison.OrdinalIgnoreCase)).Select(field => field.Value).SingleOrDefault();

    /// <summary>Reads the text of a head, its empty line included.</summary>
    public static Response OfHead(string head)
    {
        Assert.EndsWith("\r\n\r\n", head, StringComparison.Ordinal);
        string[] lines = head[..^4].Split("\r\n");
        string[] status = lines[0].Split(' ', 3);
        Assert.Equal("HTTP/1.1", status[0]);
        (string, string)[] fields = [.. lines.Skip(1).Select(OfLine)];
        return new Response(int.Parse(status[1]), lines[0], fields, []);
    }

    /// <summary>Asserts a 200 with exactly these bytes, by length and hash.</summary>
    public void AssertIsWhole(byte[] expected)
    {
        Assert.Equal(200, Status);
        Assert.Equal(expected.Length.ToString(), Field("Content-Length"));
        Assert.Equal(expected.Length, Body.Length);
        Assert.Equal(Convert.ToHexString(SHA256.HashData(expected)), Convert.ToHexString(SHA256.HashData(Body)));
    }

    private static (string Name, string Value) OfLine(string line)
    {
        int colon = line.IndexOf(':', StringComparison.Ordinal);
        Assert.True(colon > 0, $"'{line}' is no field");
        return (line[..colon], line[(colon + 1)..].Trim(' '));
    }
}
