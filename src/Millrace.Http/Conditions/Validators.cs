namespace Millrace.Http;

/// <summary>The validators of the selected representation (RFC 9110 section 8.8), which its conditions are judged by.</summary>
internal readonly ref struct Validators
{
    /// <summary>Says that a representation has no modification date.</summary>
    public const long NoDate = long.MinValue;

    /// <summary>As in the field: quoted, with W/ in front if weak. Empty: there is none.</summary>
    public required ReadOnlySpan<byte> EntityTag { get; init; }

    /// <summary>In seconds since the Unix epoch, or <see cref="NoDate"/>.</summary>
    public required long LastModified { get; init; }

    /// <summary>Whether no other representation can have been there in the same second (RFC 9110 section 8.8.2.2).</summary>
    public required bool IsDateStrong { get; init; }
}
