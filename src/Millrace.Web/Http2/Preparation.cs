namespace Millrace.Web.Http2;

/// <summary>
/// A request that waits for something off the reactor: its credentials to be verified, its site to be looked at, a long listing to be made.
/// Its head is kept as the one of HTTP/1.1 that means the same, and read again when its time has come.
/// </summary>
internal sealed class Preparation(byte[] head)
{
    public ReadOnlySpan<byte> Head => head;

    /// <summary>What became of the credentials.</summary>
    public Verdict Verdict { get; set; }

    public bool IsRevalidated { get; set; }

    /// <summary>Whether what its plan asked for is there.</summary>
    public bool IsPrepared { get; set; }

    /// <summary>What is waited for, and kept until the request is planned again: what was made may be held by nothing else.</summary>
    public Task? Task { get; set; }
}
