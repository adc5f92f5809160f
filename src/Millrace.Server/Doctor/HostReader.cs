using System.Globalization;
using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;
using Millrace.Engine;
using Millrace.Interop;
using Millrace.Interop.Brotli;
using Millrace.Interop.Files;
using Millrace.Interop.Zstd;
using Millrace.Server.Configuration;
using Millrace.Server.Host;
using Millrace.Server.Https;
using Millrace.Server.Serving;

namespace Millrace.Server.Doctor;

/// <summary>Reads the facts from /proc and /sys. A value that cannot be read is null, never an error.</summary>
internal static class HostReader
{
    /// <summary>CAP_IPC_LOCK, as a bit of CapEff: processes with it have no limit on locked memory.</summary>
    private const int LockCapability = 14;

    /// <summary>Fewer descriptors make requests fail under load; the usual least limit is 1,024.</summary>
    private const long DescriptorsMin = 1024;

    /// <summary>Logs what of this host will make requests fail, or be slower, after a start with these options.</summary>
    public static void LogShortages(ServeOptions options, ServerLog log)
    {
        if (ProcFormats.LimitOf(ReadLimits(), "Max open files").Soft is < DescriptorsMin and long descriptors)
        {
            log.FewDescriptors(descriptors);
        }

        foreach ((string cause, string remedy) in DictionaryFolders.Of(options).ProblemsOf(options.Sites))
        {
            log.NoDictionaryFolder(cause, remedy);
        }
    }

    /// <param name="options">What would be served, and as which user.</param>
    /// <param name="configuration">The configuration file; null for none.</param>
    public static async Task<HostFacts> ReadAsync(ServeOptions options, string? configuration)
    {
        var problems = new List<ConfigurationProblem>();
        using var check = new ConfigurationCheck(options, problem =>
        {
            // A certificate that has expired is found below.
            if (problem is not { Subject: ConfigurationProblem.Certificate, Kind: ProblemKind.Fault })
            {
                problems.Add(problem);
            }
        });
        IReadOnlyList<ServedCertificate> certificates = check.Certificates() ?? [];
        check.Places();
        check.Acme();
        (RootFacts root, UserFacts? user) = ReadAsUser(options, configuration, check);
        string limits = ReadLimits();
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
            ZstdProblem = ZstdLibrary.Problem,
            BrotliVersion = BrotliLibrary.TryLoad(out BrotliLibrary? brotli) ? brotli.Version : null,
            BrotliProblem = BrotliLibrary.Problem,
            UsesDictionaries = options.Sites.Any(static hosted => hosted.Site.Dictionaries || hosted.Site.PageDictionary),
            BacklogMax = TryReadNumber("/proc/sys/net/core/somaxconn"),
            CongestionControl = KernelFile.TryRead("/proc/sys/net/ipv4/tcp_congestion_control"),
            ConfiguredCongestionControl = options.Engine.CongestionControl,
            Datagrams = DatagramProbe.Read(options),
            Now = DateTimeOffset.UtcNow,
            Certificates = certificates,
            Upstreams = await UpstreamProbe.ReadAsync(options),
            AcmeNames = await AcmeProbe.ReadAsync(options),
            Problems = problems,
        };
    }

    private static (RootFacts Root, UserFacts? User) ReadAsUser(ServeOptions options, string? configuration, ConfigurationCheck check)
    {
        RootFacts ReadRoot()
        {
            check.Sites();
            return RootReader.Read(options.Site.Root);
        }

        if (options.Service.User is not { } name)
        {
            return (ReadRoot(), null);
        }

        try
        {
            return AccessProbe.Check(
                ServiceUser.Find(name),
                () => (ReadRoot(), new UserFacts(name, null, InaccessibleFile.Find(options, configuration))));
        }
        catch (ServiceException refusal)
        {
            return (ReadRoot(), new UserFacts(name, refusal.Message, []));
        }
    }

    private static string ReadLimits() => KernelFile.TryRead("/proc/self/limits") ?? "";

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

/// <summary>
/// Reads facts about the folder that would be served: access, file system, and the number of directories that need a watch.
/// </summary>
internal static class RootReader
{
    private static readonly EnumerationOptions Everything = new()
    {
        RecurseSubdirectories = true,
        IgnoreInaccessible = true,
        AttributesToSkip = FileAttributes.ReparsePoint,
    };

    public static RootFacts Read(string root)
    {
        try
        {
            string path = Directory.ResolveLinkTarget(root, returnFinalTarget: true)?.FullName ?? Path.GetFullPath(root);
            _ = Directory.EnumerateFileSystemEntries(path).Any();
            string mounts = KernelFile.TryRead("/proc/self/mountinfo") ?? "";
            string fileSystem = ProcFormats.FileSystemOf(mounts, path.Length > 1 ? path.TrimEnd('/') : path);
            long directories = 1 + Directory.EnumerateDirectories(path, "*", Everything).LongCount();
            return new RootFacts(root, fileSystem, TryCachedRead(path), directories);
        }
        catch (Exception refusal) when (refusal is IOException or UnauthorizedAccessException or ArgumentException)
        {
            // Whether it can be served is not decided here.
            return new RootFacts(root, null, CachedRead.Untried, 0);
        }
    }

    private static CachedRead TryCachedRead(string path)
    {
        string? file = Directory.EnumerateFiles(path, "*", Everything).FirstOrDefault(static file => new FileInfo(file).Length > 0);
        if (file is null)
        {
            return CachedRead.Untried;
        }

        using SafeFileHandle handle = File.OpenHandle(file);
        _ = RandomAccess.Read(handle, new byte[1], 0);
        return ReadCached(handle) switch
        {
            > 0 => CachedRead.Inline,
            -Errno.EAGAIN => CachedRead.WouldWait,
            -Errno.EOPNOTSUPP => CachedRead.Unsupported,
            _ => CachedRead.Untried,
        };
    }

    private static unsafe nint ReadCached(SafeFileHandle handle)
    {
        byte read;
        return FileCalls.PositionalReadCached((int)handle.DangerousGetHandle(), &read, 1, 0);
    }
}

/// <summary>
/// Starts and stops the engine with the configured options; with backend auto, once with io_uring and, if that fails, once with the
/// fallback. It does not rely on what the kernel or a sandbox reports: only a start proves that everything works, including limits on
/// memory and descriptors.
/// </summary>
internal static class EngineProbe
{
    public static async Task<EngineFacts> RunAsync(EngineOptions configured)
    {
        if (configured.Backend != BackendKind.Auto)
        {
            (string? only, string? no) = await StartAsync(configured);
            return new EngineFacts(configured.Backend, only, null, no);
        }

        (string? uring, string? uringRefusal) = await StartAsync(configured with { Backend = BackendKind.IoUring });
        (string? backend, string? refusal) = uring is null ? await StartAsync(configured) : (uring, null);
        return new EngineFacts(configured.Backend, backend, uringRefusal, refusal);
    }

    private static async Task<(string? Backend, string? Refusal)> StartAsync(EngineOptions options)
    {
        try
        {
            await using ReactorGroup group = await ReactorGroup.StartAsync(options);
            return (group.BackendName, null);
        }
        catch (EngineException refusal)
        {
            return (null, refusal.Message);
        }
    }
}
