using Millrace.StaticFiles.Catalog;

namespace Millrace.StaticFiles.Planning;

/// <summary>
/// How a request is to be answered: a decision for a front to execute. Lives on the stack, within the spans of its request; what
/// outlasts them (the asset) is taken out of it.
/// </summary>
internal readonly ref struct Plan
{
    private Plan(PlanStatus status)
    {
        Status = status;
    }

    public PlanStatus Status { get; }

    /// <summary>The asset a 200 is about, also for HEAD.</summary>
    public Asset? Asset { get; private init; }

    public PlanBody Body { get; private init; }

    /// <summary>Where a 301 leads; empty otherwise.</summary>
    public RedirectLocation Location { get; private init; }

    /// <summary>
    /// The value of the Allow field that 405 must and OPTIONS should have; empty otherwise (RFC 9110, sections 15.5.6 and
    /// 9.3.7).
    /// </summary>
    public ReadOnlySpan<byte> Allow =>
        Status is PlanStatus.MethodNotAllowed or PlanStatus.NoContent ? "GET, HEAD, OPTIONS"u8 : default;

    public static Plan Only(PlanStatus status) => new(status);

    public static Plan Serve(Asset asset, PlanBody body) => new(PlanStatus.Ok) { Asset = asset, Body = body };

    public static Plan Redirect(RedirectLocation location) => new(PlanStatus.MovedPermanently) { Location = location };
}
