namespace Millrace.HttpServer.Http2;

/// <summary>
/// A request that waits for something off the reactor: verification of its credentials, revalidation of its site, or a long listing. Its
/// head is kept in the equivalent HTTP/1.1 form, and parsed again when the wait is over.
/// </summary>
internal sealed class PendingRequest(byte[] head)
{
    public ReadOnlySpan<byte> Head => head;

    /// <summary>The result of the verification.</summary>
    public AuthenticationResult Authentication { get; set; }

    public bool IsRevalidated { get; set; }

    /// <summary>Whether what its plan needs is prepared.</summary>
    public bool IsPrepared { get; set; }

    /// <summary>
    /// The task that it waits for. It is kept until the request is planned again, because its result may have no other reference.
    /// </summary>
    public Task? Task { get; set; }
}
