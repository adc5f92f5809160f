namespace Millrace.StaticFiles.Planning;

/// <summary>A body made by the server itself, whole in memory: a directory's listing.</summary>
/// <param name="Bytes">The body.</param>
/// <param name="ContentType">The value of its Content-Type.</param>
/// <param name="EntityTag">Its strong entity-tag, with quotes.</param>
internal sealed record PlanDocument(byte[] Bytes, byte[] ContentType, byte[] EntityTag);
