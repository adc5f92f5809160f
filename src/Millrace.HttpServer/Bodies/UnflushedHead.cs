using Millrace.HttpServer.Exchanges;

namespace Millrace.HttpServer.Bodies;

/// <summary>
/// A head that was written to the connection's output and not flushed. Its memory does not move until it is flushed, so that the first read
/// of the body can still change it.
/// </summary>
/// <param name="Address">Its start.</param>
/// <param name="Bytes">Its length, the empty line included.</param>
/// <param name="TakesChunks">Whether the client understands chunks: HTTP/1.1.</param>
/// <param name="Exchange">The record to update if another head replaces this one; null if there is no observer.</param>
internal readonly record struct UnflushedHead(nint Address, int Bytes, bool TakesChunks, HttpExchange? Exchange)
{
    public unsafe ReadOnlySpan<byte> Text => new((void*)Address, Bytes);
}
