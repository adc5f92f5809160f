namespace Millrace.Http;

/// <summary>What the first bytes of a connection are, beside the preface of HTTP/2.</summary>
internal enum PrefaceMatch : byte
{
    /// <summary>Some byte differs: this is no HTTP/2.</summary>
    No,

    /// <summary>All bytes so far belong to the preface, and some of it is missing.</summary>
    Partial,

    /// <summary>The input starts with the whole preface.</summary>
    Whole,
}
