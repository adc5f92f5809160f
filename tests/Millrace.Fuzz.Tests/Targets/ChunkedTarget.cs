using System.Text;
using Millrace.Fuzz.Tests.Kit;
using Millrace.Http;

namespace Millrace.Fuzz.Tests.Targets;

/// <summary>Chunked bodies (RFC 9112 section 7.1), in every way they may be cut.</summary>
internal sealed class ChunkedTarget : FuzzTarget
{
    private readonly GuardedMemory _fragment = new(4096);

    public override string Name => "chunked";

    // The model knows no limits on extensions and trailers: what is shorter than both reaches none.
    public override int InputBytesMax => ChunkedDecoder.ExtensionBytesMax;

    public override int OutcomesMin => 8;

    public override IReadOnlyList<string> Words =>
    [
        "0\r\n\r\n", "1\r\na\r\n", "\r\n", ";a", ";a=b", ";a=\"b\"", "\\\"", "A: b\r\n", "ffffffffffffffff", "7fffffffffffffff",
        "80000000", "0", "00000000000000000", " ", "\t", "\r", "\n", "-1", "+1", "0x1",
    ];

    public override byte[] Generate(Random random) => Latin1.Bytes(ChunkedGenerator.Any(random));

    public override string Check(ReadOnlySpan<byte> input)
    {
        (string? body, ChunkedRefusal refusal) = Decode(input, input.Length);
        string expected = ReferenceChunked.Decode(Latin1.Text(input)) is (string data, string trailers, int consumed)
            ? $"{consumed} {data}|{trailers}"
            : "none";
        Agree(expected, body ?? "none", "body");
        foreach (int fragmentBytes in (int[])[1, 2, 3, 7, 64])
        {
            (string? cut, ChunkedRefusal cutRefusal) = Decode(input, fragmentBytes);
            Agree($"{body} {refusal}", $"{cut} {cutRefusal}", $"in pieces of {fragmentBytes}");
        }

        return body is null ? $"{refusal}" : $"whole {body.Length > 4}";
    }

    private (string? Body, ChunkedRefusal Refusal) Decode(ReadOnlySpan<byte> input, int fragmentBytes)
    {
        var decoder = default(ChunkedDecoder);
        var data = new StringBuilder();
        var trailers = new StringBuilder();
        int at = 0;
        while (at < input.Length)
        {
            ReadOnlySpan<byte> fragment = _fragment.Copy(input.Slice(at, Math.Min(fragmentBytes, input.Length - at)));
            ChunkedStatus status;
            do
            {
                status = decoder.Read(fragment, out int consumed, out TextRange piece, out TextRange lines);
                bool isWithin = (uint)consumed <= (uint)fragment.Length && piece.End <= consumed && lines.End <= consumed;
                Require(isWithin, $"{consumed} of {fragment.Length} bytes, data {piece}, trailers {lines}");
                data.Append(piece.Text(fragment));
                trailers.Append(lines.Text(fragment));
                at += consumed;
                fragment = fragment[consumed..];
            }
            while (status == ChunkedStatus.Data);

            if (status != ChunkedStatus.NeedsMore)
            {
                return (status == ChunkedStatus.Done ? $"{at} {data}|{trailers}" : null, decoder.Refusal);
            }

            Require(fragment.IsEmpty, "more is needed, and there is more");
        }

        return (null, ChunkedRefusal.None);
    }
}
