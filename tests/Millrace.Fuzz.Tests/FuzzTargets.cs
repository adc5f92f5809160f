using Millrace.Fuzz.Tests.Kit;
using Millrace.Fuzz.Tests.Targets;

namespace Millrace.Fuzz.Tests;

/// <summary>Everything that is fuzzed. A target has buffers of its own and is for one thread: who asks gets new ones.</summary>
internal static class FuzzTargets
{
    public static IReadOnlyList<FuzzTarget> All =>
    [
        new RequestHeadTarget(), new ChunkedTarget(), new RangeTarget(), new DateTarget(), new AcceptEncodingTarget(), new AcceptTarget(),
        new ConditionTarget(), new CredentialTarget(), new PathTarget(), new PatternTarget(), new HeadersFileTarget(),
        new RedirectsFileTarget(), new RouteTarget(), new SiteOptionTarget(), new AddressTarget(), new PasswordFileTarget(),
        new FrameTarget(), new HpackTarget(), new RequestFieldsTarget(), new ResponseHeadTarget(),
        new QuicPacketTarget(), new QuicFrameTarget(), new QuicParametersTarget(),
        new QpackTarget(), new Http3FrameTarget(),
    ];

    /// <summary>Those that MILLRACE_FUZZ_TARGET leaves.</summary>
    public static IReadOnlyList<FuzzTarget> Wanted =>
        [.. All.Where(target => FuzzSettings.Target is null || target.Name == FuzzSettings.Target)];

    public static FuzzTarget Find(string name) =>
        All.FirstOrDefault(target => target.Name == name)
        ?? (name == OverrunTarget.TargetName ? new OverrunTarget() : throw new InvalidOperationException($"There is no target '{name}'."));
}
