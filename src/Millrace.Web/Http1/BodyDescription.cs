namespace Millrace.Web.Http1;

/// <summary>What a head says of the body behind it.</summary>
/// <param name="bytes">Its length.</param>
/// <param name="contentType">Its type where that is not the asset's own or the plan's; empty otherwise.</param>
internal readonly ref struct BodyDescription(long bytes, ReadOnlySpan<byte> contentType = default)
{
    public long Bytes { get; } = bytes;

    public ReadOnlySpan<byte> ContentType { get; } = contentType;
}
