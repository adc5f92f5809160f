using System.Globalization;
using System.Runtime.InteropServices;
using Millrace.Engine.Listening;
using Millrace.Interop.Files;
using Millrace.Server.Configuration;
using Millrace.Server.Host;

namespace Millrace.Server.Doctor;

/// <summary>Reads the facts from /proc and /sys. A value that cannot be read is null, never an error.</summary>
internal static class HostReader
{
    /// <summary>CAP_IPC_LOCK, as a bit of CapEff: processes with it have no limit on locked memory.</summary>
    private const int LockCapability = 14;

    /// <param name="options">What would be served, and as which user.</param>
    /// <param name="configuration">The configuration file; null for none.</param>
    public static async Task<HostFacts> ReadAsync(ServeOptions options, string? configuration)
    {
        (RootFacts root, UserFacts? user) = ReadAsUser(options, configuration);
        string limits = KernelFile.TryRead("/proc/self/limits") ?? "";
        return new HostFacts
        {
            KernelRelease = KernelFile.TryRead("/proc/sys/kernel/osrelease") ?? Environment.OSVersion.Version.ToString(),
            Architecture = RuntimeInformation.ProcessArchitecture.ToString().ToLowerInvariant(),
            Engine = await EngineProbe.RunAsync(options.Engine),
            Root = root,
            User = user,
            Reactors = options.Engine.ReactorCount,
            Processors = Environment.ProcessorCount,
            ProcessorsOnline =
                ProcFormats.CountOf(KernelFile.TryRead("/sys/devices/system/cpu/online") ?? "") ?? Environment.ProcessorCount,
            QuotaCores = ReadQuota(),
            LockedBytesMax = MayLockAnything() ? null : ProcFormats.LimitOf(limits, "Max locked memory").Soft,
            DescriptorsSoft = ProcFormats.LimitOf(limits, "Max open files").Soft,
            DescriptorsHard = ProcFormats.LimitOf(limits, "Max open files").Hard,
            WatchesMax = TryReadNumber("/proc/sys/fs/inotify/max_user_watches"),
            WatchInstancesMax = TryReadNumber("/proc/sys/fs/inotify/max_user_instances"),
            BacklogMax = TryReadNumber("/proc/sys/net/core/somaxconn"),
            CongestionControl = KernelFile.TryRead("/proc/sys/net/ipv4/tcp_congestion_control"),
            ConfiguredCongestionControl = options.Engine.CongestionControl,
            CongestionControlRefusal = options.Engine.CongestionControl is { } configured ? CongestionControl.RefusalOf(configured) : null,
            HasKernelTls = options.Https.Addresses.Count > 0 ? KernelTlsProbe.Run() : null,
        };
    }

    private static (RootFacts Root, UserFacts? User) ReadAsUser(ServeOptions options, string? configuration)
    {
        if (options.Service.User is not { } name)
        {
            return (RootReader.Read(options.Site.Root), null);
        }

        try
        {
            return AccessProbe.Check(ServiceUser.Find(name), () => (
                RootReader.Read(options.Site.Root),
                new UserFacts(name, null, InaccessibleFile.Find(options, configuration))));
        }
        catch (ServiceException refusal)
        {
            return (RootReader.Read(options.Site.Root), new UserFacts(name, refusal.Message, []));
        }
    }

    /// <summary>The CPU quota of this process's own cgroup: version 2 first, then the files of version 1.</summary>
    private static double? ReadQuota()
    {
        string group = ProcFormats.UnifiedGroupOf(KernelFile.TryRead("/proc/self/cgroup") ?? "");
        string? unified = KernelFile.TryRead($"/sys/fs/cgroup{group}/cpu.max") ?? KernelFile.TryRead("/sys/fs/cgroup/cpu.max");
        const string First = "/sys/fs/cgroup/cpu/cpu.cfs";
        return ProcFormats.QuotaOf(unified ?? $"{KernelFile.TryRead($"{First}_quota_us")} {KernelFile.TryRead($"{First}_period_us")}");
    }

    private static bool MayLockAnything() => ProcFormats.HasCapability(KernelFile.TryRead("/proc/self/status") ?? "", LockCapability);

    private static long? TryReadNumber(string path) =>
        long.TryParse(KernelFile.TryRead(path), NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out long number) ? number
            : null;
}
