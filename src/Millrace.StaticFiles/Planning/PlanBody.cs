namespace Millrace.StaticFiles.Planning;

/// <summary>What follows the head of an answer.</summary>
internal enum PlanBody
{
    /// <summary>
    /// Nothing. The fields are the same as with a body (RFC 9110, section 9.3.2), so Content-Length still names the asset's
    /// size.
    /// </summary>
    None,

    /// <summary>The body of the plan's asset.</summary>
    Asset,
}
