using Millrace.Fuzz.Tests.Kit;
using Millrace.Http;

namespace Millrace.Fuzz.Tests.Targets;

/// <summary>Accept-Encoding (RFC 9110 section 12.5.3), whatever codings there are.</summary>
internal sealed class AcceptEncodingTarget : FuzzTarget
{
    private const CodingSet All = CodingSet.Identity | CodingSet.Gzip | CodingSet.Brotli | CodingSet.Zstd;

    public override string Name => "accept-encoding";

    public override int InputBytesMax => 256;

    public override int OutcomesMin => 20;

    public override IReadOnlyList<string> Words =>
    [
        "gzip", "x-gzip", "br", "zstd", "identity", "*", "deflate", ";q=0", ";q=1", ";q=0.5", ";Q=0.001", "; q=1.000", ";q=1.001",
        ";level=1", ", ", ",", "\t", "BR", "\"",
    ];

    public override byte[] Generate(Random random)
    {
        IEnumerable<string> elements = Enumerable.Range(0, random.Next(6)).Select(_ =>
            random.Pick("gzip", "br", "zstd", "identity", "*", "x-gzip", "deflate")
            + random.Pick("", "", ";q=0", ";q=0.5", ";q=0.25", " ; q=1.0"));
        return Latin1.Bytes(string.Join(random.Pick(",", ", "), elements));
    }

    public override string Check(ReadOnlySpan<byte> input)
    {
        Dictionary<string, decimal> weights = ReferenceEncodings.Read(Latin1.Text(input));
        string outcome = "";
        for (CodingSet available = CodingSet.None; available <= All; available++)
        {
            bool isChosen = AcceptEncoding.TryChoose(input, available, out ContentCoding coding);
            string choice = isChosen ? Latin1.Text(ContentCodings.NameOf(coding)) : "406";
            Agree(ReferenceEncodings.Choose(weights, available), choice, $"coding of {available}");
            outcome += choice[0];
        }

        return outcome;
    }
}
