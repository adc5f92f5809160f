using System.Text;
using Millrace.Interop.Files;
using Millrace.Interop.Sockets;
using Millrace.Interop.Tests.Kit;
using Millrace.Interop.Watching;

namespace Millrace.Interop.Tests.Calls;

/// <summary>inotify, poll, readlinkat and fstatfs on a directory of their own.</summary>
public sealed class WatchCallsTests : IDisposable
{
    private const WatchMask Names = WatchMask.Create | WatchMask.Delete | WatchMask.MovedFrom | WatchMask.MovedTo;

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("millrace-watch-");
    private readonly int _inotify = TcpPair.Require(WatchCalls.Create());

    public void Dispose()
    {
        TcpPair.Require(SocketCalls.Close(_inotify));
        _folder.Delete(recursive: true);
    }

    [Fact]
    public void An_instance_is_closed_on_exec_and_never_blocks()
    {
        Assert.True(Libc.IsCloseOnExec(_inotify));
        Assert.Equal(-Errno.EAGAIN, WatchCalls.Read(_inotify, new byte[4096]));
    }

    [Fact]
    public void Records_name_the_watch_the_change_and_the_entry()
    {
        int watch = Watch(Names);
        File.WriteAllText(PathOf("a"), "");
        File.Move(PathOf("a"), PathOf("a-rather-longer-name"));
        Directory.CreateDirectory(PathOf("d"));

        Assert.Equal(
            [
                (watch, WatchMask.Create, "a"),
                (watch, WatchMask.MovedFrom, "a"),
                (watch, WatchMask.MovedTo, "a-rather-longer-name"),
                (watch, WatchMask.Create | WatchMask.IsDirectory, "d"),
            ],
            Read());
    }

    [Fact]
    public void The_longest_name_fits_the_smallest_buffer_that_is_allowed()
    {
        int watch = Watch(Names);
        string name = new('n', 255);
        File.WriteAllText(PathOf(name), "");
        byte[] buffer = new byte[InotifyEvents.RecordBytesMax];

        Assert.Equal(-Errno.EINVAL, WatchCalls.Read(_inotify, buffer.AsSpan(1)));
        Assert.Equal([(watch, WatchMask.Create, name)], Read(buffer));
    }

    [Fact]
    public void What_the_directory_itself_suffers_has_no_name()
    {
        int watch = Watch(WatchMask.DeleteSelf);
        _folder.Delete();

        Assert.Equal([(watch, WatchMask.DeleteSelf, ""), (watch, WatchMask.Ignored, "")], Read());
        _folder.Create();
    }

    [Fact]
    public void A_mask_is_added_to_the_one_watch_of_an_inode()
    {
        int watch = Watch(WatchMask.Delete | WatchMask.Add);
        Assert.Equal(watch, Watch(WatchMask.Create | WatchMask.Add));
        File.WriteAllText(PathOf("a"), "");
        File.Delete(PathOf("a"));

        Assert.Equal([(watch, WatchMask.Create, "a"), (watch, WatchMask.Delete, "a")], Read());
    }

    [Fact]
    public void A_removed_watch_says_so_last_and_its_number_is_not_given_again()
    {
        int watch = Watch(Names);

        Assert.Equal(0, WatchCalls.RemoveWatch(_inotify, watch));
        Assert.Equal([(watch, WatchMask.Ignored, "")], Read());
        Assert.Equal(-Errno.EINVAL, WatchCalls.RemoveWatch(_inotify, watch));
        Assert.NotEqual(watch, Watch(Names));
    }

    [Fact]
    public void Errors_come_back_negated()
    {
        File.WriteAllText(PathOf("f"), "");

        Assert.Equal(-Errno.ENOENT, WatchCalls.AddWatch(_inotify, Zero(PathOf("nowhere")), Names));
        Assert.Equal(-Errno.ENOTDIR, WatchCalls.AddWatch(_inotify, Zero(PathOf("f")), Names | WatchMask.OnlyDirectory));
        Assert.Equal(-Errno.EBADF, WatchCalls.AddWatch(-1, "/\0"u8, Names));
        Assert.Equal(-Errno.EBADF, WatchCalls.RemoveWatch(-1, 1));
        Assert.Equal(-Errno.EBADF, WatchCalls.Read(-1, new byte[16]));
        Assert.Equal(-Errno.EBADF, WatchCalls.GetFileSystem(-1, out _));
    }

    [Fact]
    public void Poll_tells_which_descriptor_has_something_and_when_none_has()
    {
        int wake = TcpPair.Require(SocketCalls.EventDescriptor());
        PollRequest[] requests =
            [new() { Fd = _inotify, Events = PollRequest.Readable }, new() { Fd = wake, Events = PollRequest.Readable }];

        Assert.Equal(0, WatchCalls.Poll(requests, timeoutMs: 0));
        TcpPair.Require(SocketCalls.SignalEvent(wake));
        Assert.Equal(1, WatchCalls.Poll(requests, timeoutMs: -1));
        Assert.Equal((0, PollRequest.Readable), (requests[0].ReturnedEvents, requests[1].ReturnedEvents));
        Watch(Names);
        File.WriteAllText(PathOf("a"), "");
        Assert.Equal(2, WatchCalls.Poll(requests, timeoutMs: -1));
        TcpPair.Require(SocketCalls.Close(wake));
    }

    [Fact]
    public void A_symlinks_target_is_read_as_it_is_and_cut_where_the_buffer_ends()
    {
        File.CreateSymbolicLink(PathOf("link"), "../some/where");
        byte[] target = new byte[64];

        Assert.Equal(13, ReadLink("link", target));
        Assert.Equal("../some/where", Encoding.UTF8.GetString(target.AsSpan(0, 13)));
        Assert.Equal(4, ReadLink("link", target.AsSpan(0, 4)));
        Assert.Equal(-Errno.EINVAL, ReadLink("", target));
        Assert.Equal(-Errno.ENOENT, ReadLink("nothing", target));
    }

    [Fact]
    public void A_file_system_is_known_by_its_number()
    {
        int fd = Open("/proc");
        Assert.Equal(0, WatchCalls.GetFileSystem(fd, out FileSystemStatus status));
        Assert.Equal(FileSystemMagic.Proc, status.Magic);
        TcpPair.Require(SocketCalls.Close(fd));
    }

    private static int Open(string path) => TcpPair.Require(FileCalls.OpenAt2(
        FileCalls.WorkingDirectory, Zero(path), new OpenHow { Flags = OpenFlags.Path | OpenFlags.Directory | OpenFlags.CloseOnExec }));

    private static byte[] Zero(string path) => Encoding.UTF8.GetBytes(path + '\0');

    private string PathOf(string name) => Path.Combine(_folder.FullName, name);

    private int Watch(WatchMask mask) => TcpPair.Require(WatchCalls.AddWatch(_inotify, Zero(_folder.FullName), mask));

    private int ReadLink(string name, Span<byte> target) =>
        WatchCalls.ReadLink(FileCalls.WorkingDirectory, Zero(PathOf(name)), target);

    private List<(int Watch, WatchMask Mask, string Name)> Read(byte[]? buffer = null)
    {
        buffer ??= new byte[4096];
        var events = new InotifyEvents(buffer.AsSpan(0, TcpPair.Require(WatchCalls.Read(_inotify, buffer))));
        List<(int Watch, WatchMask Mask, string Name)> read = [];
        while (events.MoveNext())
        {
            read.Add((events.Current.Watch, events.Current.Mask, Encoding.UTF8.GetString(events.Name)));
        }

        return read;
    }
}
