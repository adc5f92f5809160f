namespace Millrace.Http;

/// <summary>The pseudo-fields a request may have, RFC 9113 section 8.3.1, by the first index of their names in the static table.</summary>
internal enum PseudoField : byte
{
    Unknown = 0,
    Authority = 1,
    Method = 2,
    Path = 4,
    Scheme = 6,
}
