namespace Millrace.Http;

/// <summary>What one range-spec is for a representation of a given size (RFC 9110 sections 14.1.1 and 14.1.2).</summary>
internal enum RangeSpecKind
{
    Satisfiable,

    /// <summary>Well-formed, but nothing of it is there.</summary>
    Unsatisfiable,

    /// <summary>Malformed, or its last position is before its first.</summary>
    Invalid,
}
