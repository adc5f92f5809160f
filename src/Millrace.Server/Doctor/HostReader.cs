using System.Globalization;
using System.Runtime.InteropServices;
using Millrace.Engine.Listening;
using Millrace.Interop.Files;
using Millrace.Server.Options;
using Millrace.Server.Service;

namespace Millrace.Server.Doctor;

/// <summary>Reads the facts where the kernel tells them: /proc and /sys. What cannot be read is null, never an error.</summary>
internal static class HostReader
{
    /// <summary>CAP_IPC_LOCK, as a bit of CapEff: whoever has it is not limited in what they lock.</summary>
    private const int LockCapability = 14;

    /// <param name="options">What would be served, and as whom.</param>
    /// <param name="configuration">The file that says so; null for none.</param>
    public static async Task<HostFacts> ReadAsync(ServeOptions options, string? configuration)
    {
        (RootFacts root, UserFacts? user) = ReadAsUser(options, configuration);
        string limits = KernelFile.TryRead("/proc/self/limits") ?? "";
        return new HostFacts
        {
            KernelRelease = KernelFile.TryRead("/proc/sys/kernel/osrelease") ?? Environment.OSVersion.Version.ToString(),
            Architecture = RuntimeInformation.ProcessArchitecture.ToString().ToLowerInvariant(),
            Engine = await EngineTrial.RunAsync(options.Engine),
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
            ToldCongestionControl = options.Engine.CongestionControl,
            CongestionControlRefusal = options.Engine.CongestionControl is { } told ? CongestionControl.RefusalOf(told) : null,
            PollsDevices = !options.Engine.BusyPoll.IsOff,
            BusyPollRefusal = options.Engine.BusyPoll.Refusal(options.ListensOnTcp),
            HasKernelTls = options.Https.Addresses.Count > 0 ? KernelTlsTrial.Run() : null,
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
            return UserEyes.Look(ServiceUser.Find(name), () => (
                RootReader.Read(options.Site.Root),
                new UserFacts(name, null, Withheld.Find(options, configuration))));
        }
        catch (ServiceException refusal)
        {
            return (RootReader.Read(options.Site.Root), new UserFacts(name, refusal.Message, []));
        }
    }

    /// <summary>Of this process's own cgroup: version 2 first, then the files of version 1.</summary>
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
