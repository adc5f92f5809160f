using Millrace.Interop.Threads;

namespace Millrace.Interop.Tests.Threads;

public class ThreadCallsTests
{
    [Fact]
    public void Niceness_is_of_one_thread_and_not_of_its_process()
    {
        int before = ThreadCalls.GetNiceness();
        int result = -1;
        int nice = -1;
        var thread = new Thread(() =>
        {
            result = ThreadCalls.SetNiceness(19);
            nice = ThreadCalls.GetNiceness();
        });

        thread.Start();
        thread.Join();

        Assert.Equal(0, result);
        Assert.Equal(19, nice);
        Assert.Equal(before, ThreadCalls.GetNiceness());
    }

    [Fact]
    public void Affinity_is_of_one_thread_and_not_of_its_process()
    {
        byte[] before = Affinity(0);
        byte[] one = new byte[before.Length];
        int first = Array.FindIndex(before, static bits => bits != 0);
        one[first] = (byte)(before[first] & -before[first]);
        int result = -1;
        byte[] pinned = [];
        var thread = new Thread(() =>
        {
            result = ThreadCalls.SetAffinity(one);
            pinned = Affinity(0);
        });

        thread.Start();
        thread.Join();

        Assert.Equal(0, result);
        Assert.Equal(one, pinned);
        Assert.Equal(before, Affinity(0));
    }

    [Fact]
    public void A_processor_that_is_not_there_and_a_mask_too_short_are_refused()
    {
        byte[] none = new byte[8192];
        none[^1] = 0x80;
        Assert.Equal(-Errno.EINVAL, ThreadCalls.SetAffinity(none));
        Assert.Equal(-Errno.EINVAL, ThreadCalls.GetAffinity(0, new byte[1]));
    }

    private static byte[] Affinity(int thread)
    {
        byte[] mask = new byte[8192];
        Assert.Equal(0, ThreadCalls.GetAffinity(thread, mask));
        return mask;
    }
}
