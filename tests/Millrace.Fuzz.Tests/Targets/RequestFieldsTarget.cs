using Millrace.Fuzz.Tests.Kit;
using Millrace.Http;

namespace Millrace.Fuzz.Tests.Targets;

/// <summary>
/// The fields of HTTP/2 and HTTP/3 requests (RFC 9113 section 8, RFC 9114 section 4.3), a line each, with '=' between name and value. What becomes of them is also read
/// by the parser of HTTP/1.1, which must see the same request.
/// </summary>
internal sealed class RequestFieldsTarget : FuzzTarget
{
    private static readonly HeadLimits[] AllLimits = [HeadLimits.Default, new(64, 128, 4)];

    private readonly RequestFields[] _fields = [.. AllLimits.Select(limits => new RequestFields(limits))];

    public override string Name => "request-fields";

    public override int OutcomesMin => 10;

    public override IReadOnlyList<string> Words =>
    [
        ":method=GET\n", ":method=CONNECT\n", ":method=OPTIONS\n", ":scheme=https\n", ":path=/\n", ":path=*\n", ":authority=a\n",
        "host=a\n", "cookie=a=b\n", "content-length=1\n", "te=trailers\n", "te=gzip\n", "connection=close\n", "transfer-encoding=chunked\n", "A=b\n",
        ":443", ":80", "[::1]", "?", "#", "\0", "\r", " ", "\t", ":", "//", "%",
    ];

    public override byte[] Generate(Random random)
        => Latin1.Bytes(string.Concat(FieldsGenerator.Any(random).Select(field => $"{field.Name}={field.Value}\n")));

    public override string Check(ReadOnlySpan<byte> input)
    {
        List<(string Name, string Value)> fields =
        [
            .. Latin1.Text(input).Split('\n', StringSplitOptions.RemoveEmptyEntries)
                .Select(line => line.Split('=', 2))
                .Select(parts => (parts[0], parts.Length > 1 ? parts[1] : "")),
        ];
        string outcome = "";
        foreach ((int index, HeadLimits limits) in AllLimits.Index())
        {
            string expected = ReferenceFields.Describe(fields, limits);
            Agree(expected, FieldsDescription.Of(_fields[index], fields, limits), "fields");
            Agree(
                ReferenceFields.Describe(fields, limits, isHttp3: true),
                FieldsDescription.Of(_fields[index], fields, limits, isHttp3: true),
                "fields of HTTP/3");
            outcome += expected.StartsWith("refused", StringComparison.Ordinal) ? $"{expected} " : $"{_fields[index].Head.Method} ";
        }

        return outcome;
    }
}
