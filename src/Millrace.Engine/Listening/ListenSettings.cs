namespace Millrace.Engine.Listening;

/// <summary>What one listener is told besides its address.</summary>
/// <param name="Backlog">Connections that the kernel queues before they are accepted.</param>
/// <param name="NoDelay">Whether small pieces are sent at once (TCP_NODELAY).</param>
/// <param name="KernelUnsentBytes">See <see cref="Limits.KernelUnsentBytes"/>.</param>
internal sealed record ListenSettings(int Backlog, bool NoDelay, int KernelUnsentBytes)
{
    public static ListenSettings Of(Limits limits) => new(limits.Backlog, NoDelay: true, limits.KernelUnsentBytes);
}
