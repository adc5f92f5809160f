namespace Millrace.Engine.Connecting;

/// <summary>The settings of one connect.</summary>
/// <param name="Timeout">The time limit; <see cref="System.Threading.Timeout.InfiniteTimeSpan"/>: as long as the kernel tries.</param>
/// <param name="NoDelay">Whether small pieces are sent at once (TCP_NODELAY).</param>
/// <param name="KernelUnsentBytes">See <see cref="Limits.KernelUnsentBytes"/>.</param>
internal sealed record ConnectSettings(TimeSpan Timeout, bool NoDelay, int KernelUnsentBytes)
{
    public static ConnectSettings Of(Limits limits) => new(limits.ConnectTimeout, NoDelay: true, limits.KernelUnsentBytes);
}
