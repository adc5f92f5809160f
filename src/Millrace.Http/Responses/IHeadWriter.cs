namespace Millrace.Http;

/// <summary>
/// Takes the fields of a response's head in one coding. The first thing that goes wrong stops it, and <see cref="Finish"/> says what it
/// was. An interface so that what a head says is written down once; generic code over it is compiled for each coding.
/// </summary>
internal interface IHeadWriter
{
    static abstract HeadCoding Coding { get; }

    /// <summary>The bytes written so far.</summary>
    int Written { get; }

    /// <summary>Comes first.</summary>
    void Status(int status);

    void Field(scoped ReadOnlySpan<byte> name, scoped ReadOnlySpan<byte> value);

    void ContentLength(long bytes);

    /// <summary>Copies fields that were prepared, and validated, before in the same coding.</summary>
    void Lines(scoped ReadOnlySpan<byte> lines);

    /// <summary>Unless the result is Ok, nothing of the head may be sent and its length is 0.</summary>
    ResponseHeadResult Finish(out int bytes);
}
