namespace Millrace.Http;

/// <summary>What a client can do with a part of a response, RFC 9218 section 4.2.</summary>
internal enum Delivery : byte
{
    /// <summary>Little: one response after the other is best, as for scripts and style sheets.</summary>
    Whole,

    /// <summary>It shows what it has: responses of the same urgency share the bandwidth, as images do.</summary>
    Incremental,
}
