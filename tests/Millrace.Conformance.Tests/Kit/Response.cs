using System.Globalization;
using System.Text;

namespace Millrace.Conformance.Tests.Kit;

/// <summary>How the end of a body was found.</summary>
internal enum Framing
{
    None,
    Length,
    Chunked,
    Close,
}

/// <summary>A response, byte for byte as it came over the wire.</summary>
internal sealed record Response(
    string StatusLine, int Status, IReadOnlyList<(string Name, string Value)> Fields, Framing Framing, byte[] Body)
{
    public string Text => Encoding.Latin1.GetString(Body);

    public string? ETag => this["ETag"];

    /// <summary>The value of a field, its lines joined as RFC 9110 5.2 says; null where there is none.</summary>
    public string? this[string name]
    {
        get
        {
            string[] values = [.. Values(name)];
            return values.Length == 0 ? null : string.Join(", ", values);
        }
    }

    public IEnumerable<string> Values(string name) =>
        Fields.Where(field => string.Equals(field.Name, name, StringComparison.OrdinalIgnoreCase)).Select(static field => field.Value);

    /// <summary>Whether a comma-separated field has an item, parameters aside.</summary>
    public bool Lists(string name, string item) => (this[name] ?? "").Split(',', StringSplitOptions.TrimEntries)
        .Any(one => string.Equals(one, item, StringComparison.OrdinalIgnoreCase));

    public Response Is(params int[] statuses)
    {
        Expect.That(statuses.Contains(Status), Status.ToString(CultureInfo.InvariantCulture));
        return this;
    }

    public Response Has(string name)
    {
        Expect.That(this[name] is not null, $"{Status} without {name}");
        return this;
    }

    public Response Has(string name, string value)
    {
        Expect.Equal(value, this[name], name);
        return this;
    }

    public Response Lacks(string name)
    {
        Expect.That(this[name] is null, $"{Status} with {name}: {Expect.Printable(this[name] ?? "")}");
        return this;
    }

    public Response HasType(string type)
    {
        string? reported = this["Content-Type"]?.Split(';')[0].Trim();
        Expect.That(string.Equals(reported, type, StringComparison.OrdinalIgnoreCase), $"Content-Type: {this["Content-Type"] ?? "missing"}");
        return this;
    }

    public Response Varies()
    {
        Expect.That(Lists("Vary", "Accept-Encoding") || this["Vary"] == "*", $"{Status} without Vary: Accept-Encoding");
        return this;
    }

    /// <summary>A 200 with exactly these bytes, and a length that says so.</summary>
    public Response IsWhole(byte[] expected)
    {
        Is(200);
        Has("Content-Length", expected.Length.ToString(CultureInfo.InvariantCulture));
        Lacks("Content-Encoding");
        Expect.Bytes(expected, Body);
        return this;
    }

    /// <summary>A 206 with exactly the bytes first to last of a file.</summary>
    public Response IsPart(byte[] file, int first, int last)
    {
        Is(206);
        Has("Content-Range", $"bytes {first}-{last}/{file.Length}");
        Has("Content-Length", (last - first + 1).ToString(CultureInfo.InvariantCulture));
        Expect.Bytes(file.AsSpan(first, last - first + 1), Body);
        return this;
    }

    /// <summary>A 200 in a coding, with a body that is the file when decoded.</summary>
    public Response IsCoded(string coding, byte[] expected)
    {
        Is(200);
        Expect.That(
            string.Equals(this["Content-Encoding"], coding, StringComparison.OrdinalIgnoreCase),
            $"{this["Content-Encoding"] ?? "identity"}, not {coding}");
        if (Content.Decoded(this) is { } plain)
        {
            Expect.Bytes(expected, plain);
        }
        else
        {
            // zstd is recognized by its magic number (RFC 8878 3.1.1); its bytes have a test of their own.
            Expect.That(Body.AsSpan().StartsWith((ReadOnlySpan<byte>)[0x28, 0xB5, 0x2F, 0xFD]), $"what is no {coding}");
        }

        return this;
    }

    /// <summary>The identity representation: these bytes, in no coding.</summary>
    public Response IsPlain(byte[] expected)
    {
        Is(200);
        Expect.That(this["Content-Encoding"] is null or "identity", $"{this["Content-Encoding"]}, not identity");
        Expect.Bytes(expected, Body);
        return this;
    }
}
