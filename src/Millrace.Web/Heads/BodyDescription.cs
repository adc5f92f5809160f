namespace Millrace.Web.Heads;

/// <summary>What a head says of the body behind it.</summary>
/// <param name="bytes">Its length, or <see cref="UnknownBytes"/>.</param>
/// <param name="contentType">Its type where that is not the asset's own or the plan's; empty otherwise.</param>
internal readonly ref struct BodyDescription(long bytes, ReadOnlySpan<byte> contentType = default)
{
    /// <summary>Its end will tell. Nothing that HTTP/1.1 can say here: only for what frames its bodies itself.</summary>
    public const long UnknownBytes = -1;

    public long Bytes { get; } = bytes;

    public ReadOnlySpan<byte> ContentType { get; } = contentType;
}
