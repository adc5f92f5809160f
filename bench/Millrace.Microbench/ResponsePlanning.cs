using BenchmarkDotNet.Attributes;
using Millrace.Http;
using Millrace.HttpServer.Heads;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.Microbench;

/// <summary>From a parsed request to the head of its answer: the decision, and its lines.</summary>
public class ResponsePlanning
{
    private readonly PlanScratch _scratch = new();
    private readonly byte[] _room = new byte[4096];
    private readonly DateField _date = new(TimeProvider.System);
    private string _root = "";
    private AssetCatalog _catalog = null!;
    private ResponsePlanner _planner = null!;

    [GlobalSetup]
    public void Open()
    {
        _root = Directory.CreateTempSubdirectory("millrace-microbench-").FullName;
        File.WriteAllBytes(Path.Combine(_root, "page.html"), new byte[10_240]);
        var options = new SiteOptions { Root = _root, Compression = false };
        _catalog = AssetCatalog.Open(options);
        _planner = new ResponsePlanner(new SitePolicy(options));
    }

    [GlobalCleanup]
    public void Close()
    {
        _catalog.Dispose();
        Directory.Delete(_root, recursive: true);
    }

    [Benchmark(Baseline = true)]
    public int Plan() => Decide("/page.html"u8, default, default).Status;

    [Benchmark]
    public int PlanMissing() => Decide("/no/such/page.html"u8, default, default).Status;

    [Benchmark]
    public int PlanUnmodified() => Decide("/page.html"u8, new ConditionFields { IfModifiedSince = "Fri, 31 Dec 2088 23:59:59 GMT"u8 }, default).Status;

    [Benchmark]
    public int PlanRange() => Decide("/page.html"u8, new ConditionFields { Range = "bytes=100-199"u8 }, default).Status;

    [Benchmark]
    public int PlanCoded() => Decide("/page.html"u8, default, "gzip, deflate, br, zstd"u8).Status;

    [Benchmark]
    public int PlanAndHead() => WriteHead(Decide("/page.html"u8, default, default));

    private ResponsePlan Decide(ReadOnlySpan<byte> path, ConditionFields conditions, ReadOnlySpan<byte> codings)
    {
        var request = new PlanRequest
        {
            Method = Method.Get,
            Path = path,
            Conditions = conditions,
            AcceptEncoding = codings,
        };
        return _planner.Decide(request, _catalog.Current, _scratch);
    }

    private int WriteHead(in ResponsePlan plan)
    {
        var writer = new ResponseHeadWriter(_room);
        PlanHeadWriter.Write(ref writer, plan, _scratch, AssetState.AsPlanned, new BodyDescription(10_240));
        writer.Lines(_date.LineAt(Environment.TickCount64));
        return writer.Finish();
    }
}
