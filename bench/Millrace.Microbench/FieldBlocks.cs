using BenchmarkDotNet.Attributes;
using Millrace.Http;

namespace Millrace.Microbench;

/// <summary>HPACK: the fields of a browser's first request and of those after it (RFC 7541, appendix C.4).</summary>
public class FieldBlocks
{
    private static readonly byte[] First = Convert.FromHexString("828684418cf1e3c2e5f23a6ba0ab90f4ff");
    private static readonly byte[] Later = Convert.FromHexString("828684be");

    private readonly HpackDecoder _decoder = new();
    private readonly byte[] _scratch = new byte[8192];
    private readonly byte[] _room = new byte[256];

    [GlobalSetup]
    public void Fill() => Decode(First);

    [Benchmark(Baseline = true)]
    public bool DecodeIndexed() => Decode(Later);

    [Benchmark]
    public bool DecodeLiteral() => Decode(First);

    [Benchmark]
    public int EncodeStatus()
    {
        var writer = new FieldBlockWriter(_room);
        writer.Status(200);
        return writer.Finish();
    }

    private bool Decode(byte[] block)
    {
        return _decoder.Decode(block, _scratch, sink: null) == HpackResult.Ok;
    }
}
