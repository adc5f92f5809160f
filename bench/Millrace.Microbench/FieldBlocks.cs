using BenchmarkDotNet.Attributes;
using Millrace.Http;

namespace Millrace.Microbench;

/// <summary>HPACK and QPACK: the fields of a browser's first request and of those after it (RFC 7541, appendix C.4).</summary>
public class FieldBlocks
{
    private static readonly byte[] First = Convert.FromHexString("828684418cf1e3c2e5f23a6ba0ab90f4ff");
    private static readonly byte[] Later = Convert.FromHexString("828684be");

    /// <summary>The first request in QPACK: static entries, and the host as a literal.</summary>
    private static readonly byte[] Section = Convert.FromHexString("0000d1d6c1508cf1e3c2e5f23a6ba0ab90f4ff");

    private readonly HpackDecoder _decoder = new();
    private readonly QpackDecoder _qpack = new(4096, 16);
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

    [Benchmark]
    public bool DecodeSection() => _qpack.Decode(0, Section, _scratch, sink: null) == QpackResult.Ok;

    [Benchmark]
    public int EncodeSection()
    {
        var writer = new QpackBlockWriter(_room);
        writer.Prefix();
        writer.Status(200);
        writer.Field("Content-Type"u8, "text/html; charset=utf-8"u8);
        writer.ContentLength(1234);
        return writer.Finish();
    }

    private bool Decode(byte[] block)
    {
        return _decoder.Decode(block, _scratch, sink: null) == HpackResult.Ok;
    }
}
