using Millrace.Web.Exchanges;

namespace Millrace.Web.Bodies;

/// <summary>
/// A head that was written and not flushed, in memory of the connection's output: it stays where it is until it is flushed, so that
/// a body's first read can still change it.
/// </summary>
/// <param name="Address">Where it starts.</param>
/// <param name="Bytes">Its length, the empty line included.</param>
/// <param name="TakesChunks">Whether the client knows chunks: HTTP/1.1.</param>
/// <param name="Exchange">Who is to know of another head that takes its place; null where nobody observes.</param>
internal readonly record struct SentHead(nint Address, int Bytes, bool TakesChunks, Exchange? Exchange)
{
    public unsafe ReadOnlySpan<byte> Text => new((void*)Address, Bytes);
}
