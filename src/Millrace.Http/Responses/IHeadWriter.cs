namespace Millrace.Http;

/// <summary>
/// Writes the fields of a response's head in one coding. It stops at the first error, which <see cref="Finish"/> returns. It is an
/// interface so that the content of a head is written once; generic code over it is compiled for each coding.
/// </summary>
internal interface IHeadWriter
{
    static abstract HeadCoding Coding { get; }

    /// <summary>The bytes written so far.</summary>
    int Written { get; }

    /// <summary>Must be first.</summary>
    void Status(int status);

    void Field(scoped ReadOnlySpan<byte> name, scoped ReadOnlySpan<byte> value);

    void ContentLength(long bytes);

    /// <summary>Copies fields that were prepared and validated before in the same coding.</summary>
    void Lines(scoped ReadOnlySpan<byte> lines);

    /// <summary>Ends the head. Unless the result is Ok, nothing of it may be sent and its length is 0.</summary>
    ResponseHeadResult Finish(out int bytes);
}
