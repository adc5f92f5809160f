using Millrace.Engine;
using Millrace.Server.Doctor;

namespace Millrace.Server.Tests.Doctor;

/// <summary>Judgements of hosts that are made up.</summary>
public class ExaminationTests
{
    private static readonly HostFacts Good = new()
    {
        KernelRelease = "6.12.3-amd64",
        Architecture = "x64",
        Engine = new EngineFacts(BackendKind.Auto, "io_uring", null, null),
        Root = new RootFacts("./public", null, "ext4", CachedRead.Inline, 12),
        Processors = 4,
        Reactors = 4,
        ProcessorsOnline = 8,
        LockedBytesMax = 8 * 1024 * 1024,
        DescriptorsSoft = 1_048_576,
        DescriptorsHard = 1_048_576,
        WatchesMax = 8192,
        WatchInstancesMax = 128,
        BacklogMax = 4096,
        CongestionControl = "cubic",
    };

    [Fact]
    public void A_good_host_has_no_remedies()
    {
        IReadOnlyList<Finding> findings = Examination.Of(Good);

        Assert.All(findings, finding => Assert.Equal((Judgement.Ok, ""), (finding.Judgement, finding.Remedy)));
        Assert.Equal(Judgement.Ok, Examination.Worst(findings));
        Assert.EndsWith("\nIt serves as well as it can here.\n", DoctorReport.Text(findings), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("6.1.0", true)]
    [InlineData("6.0.19-generic", false)]
    [InlineData("5.15.0-1-amd64", false)]
    [InlineData("7.0-rc1", true)]
    [InlineData("6.18.44-fc-v657", true)]
    [InlineData("custom", true)]
    public void A_kernel_before_6_1_is_slower(string release, bool isGood) =>
        Judges(Good with { KernelRelease = release }, "kernel", isGood ? Judgement.Ok : Judgement.Slower, isGood ? release : "6.1");

    [Fact]
    public void A_host_without_io_uring_is_slower_and_told_why_and_what_to_do()
    {
        Finding finding = Judges(
            Good with { Engine = new EngineFacts(BackendKind.Auto, "epoll", "io_uring is forbidden by a seccomp filter: allow io_uring_setup in it.", null) },
            "io_uring", Judgement.Slower, "forbidden by a seccomp filter; epoll is used");

        Assert.Equal("Allow io_uring_setup in it.", finding.Remedy);
    }

    [Fact]
    public void A_host_on_which_the_engine_does_not_start_cannot_serve()
    {
        const string Refusal = "io_uring found no memory to lock: raise the limit ('ulimit -l').";
        Finding finding = Judges(Good with { Engine = new EngineFacts(BackendKind.Auto, null, Refusal, Refusal) }, "io_uring", Judgement.Broken, "no memory to lock");

        Assert.Equal("Raise the limit ('ulimit -l').", finding.Remedy);
    }

    [Theory]
    [InlineData(null, Judgement.Ok)]
    [InlineData(8L * 1024 * 1024, Judgement.Ok)]
    [InlineData(512L * 1024, Judgement.Ok)]
    [InlineData((512L * 1024) - 1, Judgement.Slower)]
    [InlineData(64L * 1024, Judgement.Slower)]
    public void Memory_to_lock_is_compared_with_the_rings_of_all_reactors(long? bytes, object judgement) =>
        Judges(Good with { LockedBytesMax = bytes }, "locked memory", (Judgement)judgement);

    [Theory]
    [InlineData(null, null, Judgement.Ok)]
    [InlineData(63L, 63L, Judgement.Broken)]
    [InlineData(1024L, 1024L, Judgement.Slower)]
    [InlineData(1024L, 524_288L, Judgement.Slower)]
    [InlineData(20_000L, 20_000L, Judgement.Ok)]
    public void Few_descriptors_are_slower_and_hardly_any_are_none(long? soft, long? hard, object judgement) =>
        Judges(Good with { DescriptorsSoft = soft, DescriptorsHard = hard }, "descriptors", (Judgement)judgement);

    [Fact]
    public void A_root_that_cannot_be_read_cannot_be_served()
    {
        HostFacts host = Good with { Root = new RootFacts("./x", "does not exist", "", CachedRead.Untried, 0) };

        Judges(host, "root", Judgement.Broken, "'./x' does not exist");
        Judges(host, "file system", Judgement.Ok);
        Assert.Equal(Judgement.Broken, Examination.Worst(Examination.Of(host)));
    }

    [Theory]
    [InlineData("ext4", CachedRead.Inline, Judgement.Ok)]
    [InlineData("ext4", CachedRead.Untried, Judgement.Ok)]
    [InlineData("overlay", CachedRead.Unsupported, Judgement.Slower)]
    [InlineData("tmpfs", CachedRead.Unsupported, Judgement.Slower)]
    [InlineData("zfs", CachedRead.WouldWait, Judgement.Slower)]
    [InlineData("nfs4", CachedRead.Inline, Judgement.Slower)]
    [InlineData("fuse.sshfs", CachedRead.Inline, Judgement.Slower)]
    public void A_file_system_is_judged_by_what_a_cached_read_costs(string name, object read, object judgement) =>
        Judges(Good with { Root = Good.Root with { FileSystem = name, CachedRead = (CachedRead)read } }, "file system", (Judgement)judgement, name);

    [Theory]
    [InlineData(8192L, 128L, 8192, Judgement.Ok)]
    [InlineData(8192L, 128L, 8193, Judgement.Slower)]
    [InlineData(8192L, 0L, 1, Judgement.Slower)]
    [InlineData(null, null, 1, Judgement.Slower)]
    public void Each_directory_needs_a_watch(long? watches, long? instances, int directories, object judgement) => Judges(
        Good with { WatchesMax = watches, WatchInstancesMax = instances, Root = Good.Root with { Directories = directories } },
        "watches", (Judgement)judgement);

    [Theory]
    [InlineData(null, Judgement.Ok, "4 of 8 cores")]
    [InlineData(4.0, Judgement.Ok, "4 cores' time")]
    [InlineData(3.5, Judgement.Slower, "3.5 cores' time")]
    public void A_quota_below_the_reactors_makes_them_stand_still(double? quota, object judgement, string words) =>
        Judges(Good with { QuotaCores = quota }, "processors", (Judgement)judgement, words);

    [Theory]
    [InlineData(null, Judgement.Ok)]
    [InlineData("bbr", Judgement.Ok)]
    [InlineData("reno", Judgement.Slower)]
    public void Reno_is_slow_over_long_ways(string? name, object judgement) =>
        Judges(Good with { CongestionControl = name }, "congestion control", (Judgement)judgement);

    [Theory]
    [InlineData("bbr", null, Judgement.Ok, "bbr")]
    [InlineData("reno", null, Judgement.Slower, "reno takes minutes")]
    [InlineData("x", "'x' is not in this kernel: name another.", Judgement.Broken, "'x' is not in this kernel")]
    public void What_the_server_is_told_is_judged_in_place_of_the_kernels(string told, string? refusal, object judgement, string words) => Judges(
        Good with { CongestionControl = "reno", ToldCongestionControl = told, CongestionControlRefusal = refusal },
        "congestion control", (Judgement)judgement, words);

    [Theory]
    [InlineData(null, Judgement.Ok, "which the loopback's cannot")]
    [InlineData("Sockets do not poll devices: use another kernel.", Judgement.Broken, "Sockets do not poll devices")]
    public void Busy_polling_that_is_asked_for_is_judged(string? refusal, object judgement, string words) =>
        Judges(Good with { PollsDevices = true, BusyPollRefusal = refusal }, "busy polling", (Judgement)judgement, words);

    [Theory]
    [InlineData(null, Judgement.Ok)]
    [InlineData(128L, Judgement.Slower)]
    [InlineData(65_535L, Judgement.Ok)]
    public void A_short_accept_queue_is_overrun_by_a_burst(long? limit, object judgement) =>
        Judges(Good with { BacklogMax = limit }, "accept queue", (Judgement)judgement);

    [Theory]
    [InlineData(true, "has it in its sockets, and it is not used")]
    [InlineData(false, "does not have it, and it is not missed")]
    public void TLS_in_the_kernel_is_told_of_and_judged_good_either_way(bool hasIt, string words) =>
        Judges(Good with { HasKernelTls = hasIt }, "kernel TLS", Judgement.Ok, words);

    [Fact]
    public void The_worst_finding_is_the_judgement()
    {
        HostFacts slower = Good with { BacklogMax = 1, CongestionControl = "reno" };
        HostFacts broken = slower with { DescriptorsSoft = 10, DescriptorsHard = 10 };

        Assert.Equal(Judgement.Slower, Examination.Worst(Examination.Of(slower)));
        Assert.Equal(Judgement.Broken, Examination.Worst(Examination.Of(broken)));
        Assert.EndsWith("It serves; 2 things would make it better.\n", DoctorReport.Text(Examination.Of(slower)), StringComparison.Ordinal);
        Assert.EndsWith("It cannot serve like this.\n", DoctorReport.Text(Examination.Of(broken)), StringComparison.Ordinal);
    }

    private static Finding Judges(HostFacts host, string subject, Judgement judgement, string words = "")
    {
        Finding finding = Assert.Single(Examination.Of(host), finding => finding.Subject == subject);
        Assert.Equal((judgement, judgement == Judgement.Ok), (finding.Judgement, finding.Remedy.Length == 0));
        Assert.Contains(words, finding.Text, StringComparison.Ordinal);
        Assert.Matches(@"^[^ ].*[^.]$", finding.Text);
        Assert.Matches(@"^$|^\S.*\.$", finding.Remedy);
        return finding;
    }
}
