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
}
