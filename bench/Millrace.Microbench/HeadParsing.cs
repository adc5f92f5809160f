using BenchmarkDotNet.Attributes;
using Millrace.Http;

namespace Millrace.Microbench;

/// <summary>The head of a request: as load generators write it, and as browsers do.</summary>
public class HeadParsing
{
    private readonly RequestHead _head = new();

    [Benchmark(Baseline = true)]
    public bool Minimal() => RequestHeadParser.Parse(Requests.Minimal, _head, HeadLimits.Default).IsComplete;

    [Benchmark]
    public bool Browser() => RequestHeadParser.Parse(Requests.Browser, _head, HeadLimits.Default).IsComplete;

    [Benchmark]
    public bool Refused() => RequestHeadParser.Parse(Requests.Broken, _head, HeadLimits.Default).IsRefused;
}
